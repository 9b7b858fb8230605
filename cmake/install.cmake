# The installed tree: headers, both libraries, a CMake package (weft::weft, weft::weft_static) and weft.pc.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS weft weft_static EXPORT weft-targets)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_dir})

configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${package_dir})

# weft.pc finds its prefix from where it lies, so that an installed tree can be moved.
file(RELATIVE_PATH WEFT_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" WEFT_PC_TO_PREFIX "${WEFT_PC_TO_PREFIX}")
configure_file(cmake/weft.pc.in weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
