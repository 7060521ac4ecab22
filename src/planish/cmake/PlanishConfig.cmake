# Libraries of C whose loop nests are made faster: the drop-ins of `planish build` take the place of the files.
#
#     find_package(Planish REQUIRED)                 # cmake -D Planish_DIR=$(planish cmake) …
#     planish_add_library(kernels STATIC matvec.c smooth.c)
#     target_link_libraries(program PRIVATE kernels)

cmake_minimum_required(VERSION 3.20)

find_program(PLANISH_EXECUTABLE planish
             HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin" "${CMAKE_CURRENT_LIST_DIR}/../../../../../bin"
             DOC "The command `planish`")
if(NOT PLANISH_EXECUTABLE)
  set(Planish_FOUND FALSE)
  set(Planish_NOT_FOUND_MESSAGE "the command `planish` is not on the path: pip install planish, or set PLANISH_EXECUTABLE")
  return()
endif()

# What files are built for where nobody says so: this machine, or the processor that is compiled for.
function(_planish_target out)
  if(NOT CMAKE_CROSSCOMPILING)
    set(found native)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(found aarch64-neon)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    set(found x86-avx2)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^hexagon$")
    set(found hexagon-hvx)
  else()
    message(FATAL_ERROR "planish_add_library: what Planish calls the processor '${CMAKE_SYSTEM_PROCESSOR}' is not known: "
                        "name it with TARGET (`planish targets` lists names)")
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Code for Arm, unlike that for x86, compiles only where the command says what the processor has: with what the user's
# options say or else, behind them, with what Planish builds for.
function(_planish_name_processor name drop_ins)
  string(TOUPPER "CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}" configured)
  get_target_property(given ${name} COMPILE_OPTIONS)
  if(NOT "${CMAKE_C_FLAGS} ${${configured}} ${given}" MATCHES "-m(arch|cpu)=")
    set_source_files_properties(${drop_ins} PROPERTIES COMPILE_OPTIONS "-march=armv8.2-a+fp16+dotprod")
  endif()
endfunction()

# planish_add_library(NAME [STATIC|SHARED|MODULE|OBJECT] FILE… [TARGET NAME[,NAME…]] [TIMED] [OPTIONS OPTION…])
#
# As add_library, with a drop-in in place of each C file. Include directories and definitions of the library are those
# of the drop-ins. TARGET: what they are built for (default: what is compiled for). TIMED: versions are timed, one file
# after the other, where the code runs here. OPTIONS: more of `planish build`, as `--fp strict`. Files in which there is
# no loop are an error: name them with target_sources(NAME PRIVATE FILE…).
function(planish_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC;SHARED;MODULE;OBJECT;TIMED" "TARGET" "OPTIONS")
  set(kind)
  foreach(word STATIC SHARED MODULE OBJECT)
    if(arg_${word})
      list(APPEND kind ${word})
    endif()
  endforeach()
  list(FILTER arg_UNPARSED_ARGUMENTS EXCLUDE REGEX "^$")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "planish_add_library(${name}): no files are named")
  endif()
  if(NOT arg_TARGET)
    _planish_target(arg_TARGET)
  endif()
  set(options --target ${arg_TARGET} ${arg_OPTIONS} -q)
  # Of several targets, each has a compiler of its own; CMake's is for what is compiled here.
  if(NOT (CMAKE_CROSSCOMPILING AND arg_TARGET MATCHES ","))
    list(APPEND options --cc ${CMAKE_C_COMPILER})
  endif()
  set(pool)
  if(arg_TIMED)
    get_property(pools GLOBAL PROPERTY JOB_POOLS)
    if(NOT pools MATCHES "planish_clock=")
      set_property(GLOBAL APPEND PROPERTY JOB_POOLS planish_clock=1)
    endif()
    set(pool JOB_POOL planish_clock)
  else()
    list(APPEND options --no-measure)
  endif()
  set(folders "$<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>")
  set(macros "$<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>")
  set(sources)
  set(drop_ins)
  foreach(given IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(source "${given}" ABSOLUTE)
    if(NOT source MATCHES "\\.c$")
      list(APPEND sources "${source}")
      continue()
    endif()
    get_filename_component(stem "${source}" NAME_WLE)
    get_filename_component(beside "${source}" DIRECTORY)
    # Files of the same name lie in folders of their own, as where they come from.
    file(RELATIVE_PATH place "${CMAKE_CURRENT_SOURCE_DIR}" "${beside}")
    string(REPLACE ".." "up" place "${place}")
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/planish/${name}")
    if(place)
      string(APPEND folder "/${place}")
    endif()
    set(made "${folder}/${stem}.c")
    add_custom_command(
      OUTPUT "${made}"
      COMMAND "${PLANISH_EXECUTABLE}" build "${source}" -o "${folder}" ${options} --depfile "${folder}/${stem}.d"
              "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>" "$<$<BOOL:${macros}>:-D$<JOIN:${macros},;-D>>"
      DEPENDS "${source}"
      DEPFILE "${folder}/${stem}.d"
      COMMENT "Making ${given} faster with Planish"
      COMMAND_EXPAND_LISTS VERBATIM ${pool})
    # Headers beside the file are found from the drop-in, too.
    set_source_files_properties("${made}" PROPERTIES INCLUDE_DIRECTORIES "${beside}")
    list(APPEND sources "${made}")
    list(APPEND drop_ins "${made}")
  endforeach()
  add_library(${name} ${kind} ${sources})
  if(arg_TARGET MATCHES "^(aarch64-)?neon$")
    # Behind the last line of the folder, where all options of the library are known.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _planish_name_processor [[${name}]] [[${drop_ins}]])")
  endif()
  if(UNIX AND NOT arg_OBJECT)
    target_link_libraries(${name} PRIVATE m)
  endif()
endfunction()
